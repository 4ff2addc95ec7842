"""Out of the workbench: models as other engines read them, each with a certificate of what that changes.

`export` is the verb; a target is one file in `targets`, registered there with its scoring convention.
"""
