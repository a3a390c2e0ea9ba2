"""Do the stages of a unit (a query sequence and strand against a target), on a core or a GPU: seeds, HSPs, anchors, their extension one by one, rows."""
