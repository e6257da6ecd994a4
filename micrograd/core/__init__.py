"""What a learner need not meet: kinds of numbers, error messages, `no_grad`, files, shapes."""
