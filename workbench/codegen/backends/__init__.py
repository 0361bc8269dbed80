"""The backends, a module each. `workbench.codegen.backend.backends` finds them by their being here."""
