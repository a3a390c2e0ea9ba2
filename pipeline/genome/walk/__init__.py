"""Walk a unit's anchors as LASTZ does (exact mode), beside whoever extends them ahead: this process's GPU, or workers with whom files are exchanged."""
