"""Keys and code -> a repository of signed bundles that hosts can trust, published by the coordinator.

`keys` stores private keys in files of the operator, `repository` signs, `contents` lists the files of a
crawler's bundle, `rollout` decides which host gets a version when.
"""
