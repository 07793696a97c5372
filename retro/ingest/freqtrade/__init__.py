"""The adapter of freqtrade: databases, backtest results, candles."""
