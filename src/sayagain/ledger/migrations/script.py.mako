"""${message}

Revision: ${up_revision}, after ${down_revision}.
"""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead a ledger from the revision before to this one."""
    ${upgrades if upgrades else "raise NotImplementedError"}
