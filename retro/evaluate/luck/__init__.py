"""How much of each result was being there, and how much was choosing when: positions beside their twins. Pure."""
