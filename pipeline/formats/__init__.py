"""Write the rows of any kind of run to one file: the table of formats, and what they share."""
