"""The triton engine gives the numbers worked out by hand, like the others."""

from test_hand import (  # noqa: F401  (pytest collects them here too)
    test_a_black_image_does_not_change_the_hidden_layer,
    test_consolidated_rows_are_frozen_and_never_reversed,
    test_hidden_layer,
    test_hidden_weights_stop_at_zero,
    test_other_readings_of_the_error,
    test_output_row_of_the_label,
    test_sgd,
    test_the_other_output_rows,
)
