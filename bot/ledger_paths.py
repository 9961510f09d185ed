"""Where a repository keeps its ledgers; apart from what reads them, which takes long to import."""

LEDGER = ".porchbot/ledger.yaml"
LEDGERS = ".porchbot/ledger"


def package_ledger(package: str) -> str:
    """Path of the ledger of one package; "" for the root package, which only `LEDGER` lists."""
    return f"{LEDGERS}/{package}.yaml" if package else ""


def ledger_package(path: str) -> str | None:
    """The package whose ledger a file is; None for any other file."""
    inside = path.startswith(f"{LEDGERS}/") and path.endswith(".yaml")
    return path.removeprefix(f"{LEDGERS}/").removesuffix(".yaml") if inside else None
