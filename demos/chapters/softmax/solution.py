def softmax(scores):
    powers = [math.exp(z) for z in scores]
    return [power / sum(powers) for power in powers]
