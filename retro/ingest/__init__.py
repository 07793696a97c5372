"""One adapter a source: journals, freqtrade databases and results, candle files. They read and give batches; none writes."""
