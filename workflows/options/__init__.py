"""Read the options of the command line and of Python's calls, LASTZ's among them, and say what is wrong with them."""
