"""The four layers items live in, and how a step of a trading day moves them: pure functions of arrays."""
