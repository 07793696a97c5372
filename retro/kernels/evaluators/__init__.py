"""The arithmetic of the evaluators: forecasts, confidence, what-ifs, twins, lives of rules."""
