"""Read the command line's options and LASTZ's, and say what is wrong with them."""
