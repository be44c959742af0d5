"""Names candidates by how code looks: sequential patterns, a linear support vector machine.

Source: Clara (SOSP 2021), section 4.1. It decides nothing: proofs do.
"""
