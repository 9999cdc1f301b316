"""Documents: typed models (`mesh` and others), reading (`load`) and JSON Schemas (`schema`)."""
