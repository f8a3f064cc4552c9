"""Loading files: lines become rows, rows become domain objects, batches of those are written."""
