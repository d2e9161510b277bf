"""The page of studies keeps what it has, and takes in what is new."""

from pathlib import Path

from experiments import gallery
from experiments.gallery import BEGIN, END, place

PAGE = f"# Studies\n\n{BEGIN}\n### `budget`: old\ntext\n\n### `samplers`: kept\nmore\n{END}\n\nThe end.\n"


def test_an_entry_is_replaced_and_the_others_stay():
    page = place(PAGE, "budget", "### `budget`: new\n\n")
    assert "old" not in page
    assert page.index("`budget`: new") < page.index("`samplers`: kept")
    assert page.startswith("# Studies")
    assert page.endswith("The end.\n")


def test_a_new_entry_finds_its_place():
    page = place(PAGE, "claims", "### `claims`: new\n\n")
    assert page.index("`budget`") < page.index("`claims`") < page.index("`samplers`")
    assert place(page, "claims", "### `claims`: new\n\n") == page


def test_every_picture_of_the_page_is_there():
    page = (Path(gallery.__file__).parent / "README.md").read_text()
    names = [line.partition("](")[2].rstrip(")") for line in page.splitlines() if line.startswith("![")]
    assert names
    for name in names:
        assert (Path(gallery.__file__).parent / name).is_file()
