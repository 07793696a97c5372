"""MetaTrader 5 and 4: reports of accounts and of the strategy tester, in any language of the terminal."""
