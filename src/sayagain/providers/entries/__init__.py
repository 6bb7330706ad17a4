"""The catalog of providers: one TOML file each, in the form that `sayagain.providers.catalog` describes."""
