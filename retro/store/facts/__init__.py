"""Events, marks, agents and faults as they came in."""
