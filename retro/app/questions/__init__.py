"""What may be asked, each question once: a frozen struct in, a typed answer out; one file a subject.

Command line, MCP and Python are thin over these, and so is any surface to come: parse what was typed into a question,
ask it, then draw the answer or dump it with `document.document_of`. To add a question, write its struct, the function
that answers it and, where the answer is new, a frozen dataclass whose `document` says how it stands in JSON.
Nothing here writes, but for what somebody decides (a plan, a belief, a halt), which takes its instant as `at`.
"""
