"""Doubles for whoever tests against the mirror: a model, a forge, a clock. All on the loopback interface."""
