"""Opening, saving, exporting and the copies that outlive a crash."""
