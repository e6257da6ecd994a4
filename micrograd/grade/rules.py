"""What is checked, in words: the rule behind each check, and the fix where it is broken.

>>> rule, fix = RULES["chain"]
>>> fix
'in _backward, multiply by out.grad'
"""

RULES = {  # maps each kind of mistake to its rule and the fix
    "load": ("The file must load and define the class.",
        "keep only definitions at the top level of the file, and put everything else below "
        "if __name__ == '__main__':"),
    "ours": ("The engine must not be the one it is compared with.",
        "grade the file that defines your own class; if your package is called micrograd, give "
        "a file inside it or next to it"),
    "syntax": ("The file must be valid Python.",
        "correct the line that the error names; often the mistake is at the end of the line "
        "before"),
    "name": ("The file must define the class that is graded.",
        "give the name of your class with --name (class_name= in Python)"),
    "needed": ("Value needs a method that computes all gradients.",
        "write backward(self), or give its name with --backward (names= in Python)"),
    "construct": ("A new Value keeps its number in .data and starts with a gradient of 0 in .grad.",
        "write self.data = data and self.grad = 0.0 in __init__; if your attributes have other "
        "names, give them with --data and --grad (names= in Python)"),
    "seed": ("The gradient of the node on which backward() is called is 1.",
        "write self.grad = 1.0 in backward(), once, before the loop that calls each _backward()"),
    "fresh": ("Each Value has its own grad and its own operands.",
        "set self.grad and self._prev in __init__, not on the class, and do not use set() or [] as "
        "a default argument, because all calls would share it: use ()"),
    "runs": ("This program must run without an error.",
        "run the program step by step; the error names the step that fails"),
    "recursion": (
        "An operation must end in arithmetic on plain numbers instead of calling itself again.",
        "find the methods that call each other, and let one of them compute its own result, for "
        "example __neg__ as self * -1"),
    "result": (
        "The result of an operation must be a Value, so that the next operation can use it.",
        "return out, where out = Value(number, (self, other), '+')"),
    "number": ("data and grad must be plain numbers.",
        "use other.data and out.grad in formulas, not other and out; store floats, not arrays"),
    "value": ("{operation} computes a wrong number.",
        "use the formula: {formula}"),
    "closure": ("{operation} must pass the gradient of its result on to its operands.",
        "define _backward inside the operation, and write out._backward = _backward, without "
        "parentheses, before return out; inside _backward, read out.grad, not self.grad"),
    "reads": (
        "The _backward of {operation} may read the data of its operands and the grad of its "
        "result, but not the grad of its operands.",
        "in _backward, write other.data instead of other.grad, and out.grad instead of self.grad; "
        "the grad of an operand belongs only on the left of +="),
    "derivative": ("The derivative in the _backward of {operation} is wrong.",
        "use the formula: {formula}"),
    "exchanged": (
        "The _backward of {operation} gives each operand the derivative of the other one.",
        "swap the two, as in the formula: {formula}"),
    "chain": (
        "The _backward of {operation} must multiply its local derivative by the gradient of the "
        "result (the chain rule).",
        "in _backward, multiply by out.grad"),
    "walk": ("backward() must visit every node of the graph, each result before its operands.",
        "build a list of the nodes, operands first, then write: for node in reversed(topo): "
        "node._backward()"),
    "children": ("The _children (_prev) of a result must hold all operands of the operation.",
        "write Value(number, (self, other), '+'): backward() visits only the nodes listed there"),
    "untouched": ("backward() must change only gradients, never data.",
        "in backward() and in _backward, assign only to .grad"),
    "accumulate": (
        "Gradients must add up (+=): a node used more than once receives the sum over its uses.",
        "in every _backward, write += instead of =: self.grad += out.grad"),
    "operands": ("Operands must keep their order, and a Value used twice must count twice.",
        "keep the operands in a tuple (a set has no order and no duplicates), and give each its "
        "own derivative"),
    "once": ("backward() must call the _backward of each node once, however many nodes use it.",
        "keep a set of visited nodes, and add a node to the list only if it is not in the set yet"),
    "order": (
        "backward() must call the _backward of a node only after those of all nodes that use it.",
        "add a node to the list after all its operands (a topological order), then go through the "
        "list in reverse"),
    "identity": (
        "Two nodes with equal numbers are still two nodes, and every Value must fit in a set.",
        "do not define __eq__ or __hash__ (a dataclass defines them: write "
        "@dataclass(eq=False))"),
    "wrap": ("An operation must accept a plain number as its other operand.",
        "begin the method with: other = other if isinstance(other, Value) else Value(other)"),
    "reflected": (
        "A plain number may be on the left of the operator: Python then calls a method of the "
        "Value on the right.",
        "define __radd__ and __rmul__, and for - and / also __rsub__ and __rtruediv__"),
    "swapped": (
        "In {operation} the Value is the right operand, even though Python passes it as self.",
        "in __rsub__ return other + (-self), and in __rtruediv__ return other * self**-1"),
    "numpy": ("A NumPy number must work like any other number.",
        "treat everything that is not a Value as a number, not only int and float, and store "
        "float(data)"),
    "again": ("Each call of backward() must start afresh.",
        "in backward(), make a new list and a new set of visited nodes, and write self.grad = 1.0"),
    "twice": (
        "A second backward() on the same graph must add the same gradients once more, so that the "
        "leaves hold exactly twice as much.",
        "at the start of backward(), set the grad of every node that has operands to 0 (the "
        "original micrograd has this limit too; it does not matter if you build a new graph for "
        "each backward() and first set the grad of the leaves to 0)"),
    "kept": (
        "A second backward() on the same graph must add the same gradients once more, so that the "
        "leaves hold exactly twice as much.",
        "in backward(), reset only the grad of nodes that have operands, and keep that of leaves"),
    "freed": (
        "This backward() frees the graph, so it works only once per graph.",
        "you can leave this as it is if you build a new graph for each backward(), as a training "
        "loop does; to allow a second call, keep the operands and the _backward of every node"),
    "paths": (
        "The work of backward() must grow with the number of nodes, not with the number of paths, "
        "which doubles with every reuse.",
        "add each node to the list once, with a set of visited nodes, and call its _backward once"),
    "depth": ("A graph may be deeper than Python's recursion limit.",
        "use an explicit stack instead of a recursive function (the original micrograd has this "
        "limit too; a network like the lecture's stays below it)"),
    "time": ("Every program must end.",
        "look for a loop whose condition stays true, or a walk that returns to its start; if the "
        "code is correct but slow, allow more time with --seconds (seconds= in Python)"),
    "crash": ("A program must not end the Python process.",
        "remove exit, quit and os._exit, and also sys.setrecursionlimit, which turns a "
        "RecursionError into a crash"),
    "memory": ("A program with a few numbers needs little memory.",
        "look for a list that grows in a loop or is far too long"),
}  # fmt: skip
