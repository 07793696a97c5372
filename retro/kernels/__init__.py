"""Arrays in, numbers out: pure functions on numpy arrays.

Reviews use what `evaluate` and `accounting` call. The rest is public for callers with arrays, and tested as they are:
`trajectory.trajectories` and `series.with_highs_lows`, pool arithmetic on raw units and ticks (`liquidity`), and the other intervals and corrections for many tests (`uncertainty`).
"""
