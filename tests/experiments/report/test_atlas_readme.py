"""The stored page of claims: every claim is on it, and every picture is there."""

import re

from experiments.config.study_files import claim_names
from experiments.report import atlas_table
from experiments.studies.claims import pending


def test_every_claim_is_on_the_page_with_its_command():
    page = atlas_table.README.read_text()
    assert "`fgtsva atlas DIR --markdown`" in page
    for name in claim_names():
        assert f"`fgtsva run study={name}`" in page
    for claim in pending():
        assert f"- {claim.id}. " in page


def test_pictures_are_those_of_the_page_and_small():
    shown = set(re.findall(r"\]\(\.\./\.\./gallery/claims/(\w+\.png)\)", atlas_table.README.read_text()))
    stored = {path.name: path.stat().st_size for path in atlas_table.PICTURES.glob("*.png")}
    assert shown == set(stored)
    assert all(size < 60_000 for size in stored.values())
