"""Jobs on machines. Nothing is imported here, so that a job's keeper starts in milliseconds."""
