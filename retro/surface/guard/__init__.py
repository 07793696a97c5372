"""Who may knock at a door of ours that speaks HTTP, and how much of it one caller may hold.

`access` judges a request by its headers, `guard` stands before an application and keeps it to its limits, `server`
keeps the connections beneath to theirs. `retro mcp --http` stands behind all three, on every address it is bound to.
"""
