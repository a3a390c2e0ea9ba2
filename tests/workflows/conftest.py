"""What tests of whole runs on cards share."""

import pytest

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import usable


@pytest.fixture(scope="session")
def cards() -> dict[str, str]:
    """This machine's."""
    try:
        return usable()
    except NoWorkers as error:
        pytest.skip(str(error))
