"""Live against backtest: two lists of trades, what they have in common, and what each difference came to."""
