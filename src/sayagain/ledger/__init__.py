"""The ledger: the database that is the source of truth for every run."""

from sayagain.ledger.ownership import Owner
from sayagain.ledger.store import Ledger, connect, open_ledger
from sayagain.ledger.views import CaseView, RunView, TargetCounts

__all__ = ["CaseView", "Ledger", "Owner", "RunView", "TargetCounts", "connect", "open_ledger"]
