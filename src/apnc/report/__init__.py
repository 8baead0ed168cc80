"""A fit on one page: sizes, map, tree, what is in each cluster, certificate, settings; HTML that needs no network."""

from apnc.report.assembling import Wanted, material
from apnc.report.page import check_report, write_report

__all__ = ["Wanted", "check_report", "material", "write_report"]
