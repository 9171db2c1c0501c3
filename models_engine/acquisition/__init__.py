"""What to ask next: sets of items by how much an answer about them helps, which are settled, and what is still open.

Chen, Bennett, Collins-Thompson & Horvitz 2013 ask where an answer is expected to tell most; here it is counted how far
an answer is expected to lower the loss of what the answers are for, and sets are matched so that people who ask at
once get different ones.
"""

from models_engine.acquisition.aims import Aim
from models_engine.acquisition.candidates import Candidates, candidate_sets
from models_engine.acquisition.late_answers import AnsweredMarginals, add_answers
from models_engine.acquisition.loss import expected_loss, settled

__all__ = ["Aim", "AnsweredMarginals", "Candidates", "add_answers", "candidate_sets", "expected_loss", "settled"]
