from tally import tally

CTEST = """<testsuite>
<testcase name="a" classname="a" status="run"/>
<testcase name="b" classname="b" status="fail"><failure message=""/></testcase>
<testcase name="c" classname="c" status="notrun"><skipped message="SKIP_RETURN_CODE=1"/></testcase>
<testcase name="d" classname="d" status="notrun"><skipped message="Unable to find"/></testcase>
</testsuite>"""

PYTEST = """<testsuites><testsuite>
<testcase classname="t" name="a"/>
<testcase classname="t" name="b"><error message="x"/></testcase>
<testcase classname="t" name="c"><skipped message="no redis"/></testcase>
</testsuite></testsuites>"""


def test_ctest_reports_are_counted_and_a_missing_program_is_a_failure(make_tree):
    totals, lines = tally(make_tree({"ctest.xml": CTEST}) / "ctest.xml")
    assert totals == {"passed": 1, "failed": 2, "skipped": 1}
    assert lines == ["failed: b", "skipped: c", "failed: d"]


def test_pytest_reports_are_counted(make_tree):
    totals, _ = tally(make_tree({"pytest.xml": PYTEST}) / "pytest.xml")
    assert totals == {"passed": 1, "failed": 1, "skipped": 1}


def test_a_missing_report_is_a_failure(tmp_path):
    totals, _ = tally(tmp_path / "never.xml")
    assert totals == {"failed": 1}
