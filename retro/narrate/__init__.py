"""Words for a review, figures never.

    plain       the words that need no model
    slots       what a model writes instead of figures
    numerals    numbers that hide in words
    beside      what may stand beside a slot
    ground      what of a model's words may stand
    answer      the schemas, and reading an answer
    subject     one review as a model sees it, and what its answer becomes
    candidates  rules a model may word
    prompt      the request; its text is in prompts/
    prices      what a call costs
    client      the one door to the service
    write       reserve, call, settle, read, ground; once more; else why not

Whatever goes wrong on the way, the plain words stand.
"""
