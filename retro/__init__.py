"""The slow mirror: hindsight reviews of what a trading agent did."""

__version__ = "0.1.0"
