"""Commands of the command line, a module each, and the Python functions behind them."""
