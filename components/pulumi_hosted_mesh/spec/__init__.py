"""The mesh document: typed models (`mesh`), reading one (`load`), its JSON Schema (`schema`). Imports no Pulumi."""
