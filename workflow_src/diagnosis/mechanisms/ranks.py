"""Ranks: gradients reduced too often, communication that nothing hides, a rank that is late."""

from workflow_src.diagnosis.finding import Subject, Found, mechanism
