"""Keys and code -> a repository of signed bundles that hosts can trust, published by the coordinator.

`keys` keeps private keys in files of the operator's, `repository` signs, `contents` says what a crawler's
bundle is made of, `rollout` who gets a version when.
"""
