"""Certificates: on a sample, how far the labels of a model are from those of the exact method."""

from apnc.certifying.certificate import Certificate
from apnc.certifying.drawing import Asked
from apnc.certifying.issuing import certify

__all__ = ["Asked", "Certificate", "certify"]
