"""Walk a unit's anchors as LASTZ does (exact mode), beside whoever extends them ahead: other workers, whose files are looked for, or this process's GPU."""
