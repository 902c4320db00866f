"""A published run trained again: an estimate of its hours, its own figures by epoch, the published beside."""
