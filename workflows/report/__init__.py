"""Shows a finished run to people: report.html, one file that needs no network, and a table for MultiQC beside it."""
