"""What is checked, in words: the rule behind each check, and the fix where it is broken.

>>> rule, fix = RULES["chain"]
>>> fix
'in _backward, multiply by out.grad'
"""

RULES = {  # by the name of the mistake: the rule, and the fix
    "load": ("The file must load by itself and define the class.",
        "keep definitions at its top level, and all else below if __name__ == '__main__':"),
    "ours": ("The engine must be another one than the one it is compared with.",
        "grade the file in which your own class is; if it is in a package that is called "
        "micrograd, give a file in that package, or beside it"),
    "syntax": ("The file must be a Python program.",
        "mend the line that the error names; often the mistake is at the end of the line before"),
    "name": ("The file must define the class that is graded.",
        "say which class it is: --name and what it is called there (class_name= in Python)"),
    "needed": ("Value needs a method that computes all gradients.",
        "write backward(self), or say what it is called: --backward and its name (names= in "
        "Python)"),
    "construct": ("A new Value keeps its number in .data and starts with 0 in .grad.",
        "write self.data = data and self.grad = 0.0 in __init__; if they are called otherwise, say "
        "so: --data and --grad (names= in Python)"),
    "seed": ("The gradient of the node on which backward() is called is 1.",
        "write self.grad = 1.0 in backward(), once, before the loop in which each _backward runs"),
    "fresh": ("Each Value has a grad and operands of its own.",
        "set self.grad and self._prev in __init__, not on the class, and let no default argument "
        "be set() or [], which all calls would share: () is safe"),
    "runs": ("This program must run without an error.",
        "try the program step by step; the error names the step that fails"),
    "recursion": (
        "An operation must end in arithmetic on plain numbers, and not come back to itself.",
        "of the methods that call each other, let one compute its result itself, for example "
        "__neg__ as self * -1"),
    "result": (
        "The result of an operation is a Value again, so that the next operation can use it.",
        "return out, where out = Value(number, (self, other), '+')"),
    "number": ("data and grad are plain numbers.",
        "in formulas take other.data and out.grad, not other and out; store floats, no arrays"),
    "value": ("{operation} computes a wrong number.",
        "by the book: {formula}"),
    "closure": ("The result of {operation} must know how to hand its gradient back.",
        "define _backward inside the operation, and write out._backward = _backward, without "
        "parentheses, before return out; inside, read out.grad, not self.grad"),
    "reads": (
        "The _backward of {operation} takes numbers from the data of its operands and the grad of "
        "its result.",
        "in _backward, write other.data, not other.grad, and out.grad, not self.grad: the grad of "
        "an operand is not known yet, and stands left of += alone"),
    "derivative": ("The derivative in the _backward of {operation} is wrong.",
        "by the book: {formula}"),
    "exchanged": (
        "The derivative in the _backward of {operation} is wrong: the two are swapped.",
        "give each operand its own derivative, by the book: {formula}"),
    "chain": (
        "{operation} hands back its local derivative times the gradient of its result (the chain "
        "rule).",
        "in _backward, multiply by out.grad"),
    "walk": ("backward() must reach all nodes below the root, each result before its operands.",
        "list the nodes, operands first, and then: for node in reversed(topo): node._backward()"),
    "children": ("All operands of an operation stand in its _children (_prev).",
        "write Value(number, (self, other), '+'): backward() goes on only to what stands there"),
    "untouched": ("backward() changes gradients and leaves all data as they are.",
        "in backward() and in _backward assign to .grad alone"),
    "accumulate": (
        "Gradients must add up (+=): a node used more than once receives the sum over its uses.",
        "in every _backward write += instead of =, as in self.grad += out.grad"),
    "operands": ("Operands keep their order, and one that stands twice counts twice.",
        "keep operands in a tuple (a set has no order and holds nothing twice), and give each its "
        "own derivative"),
    "once": ("Each node runs its _backward once, however many nodes use it.",
        "keep a set of the nodes visited, and list a node only if it is not in there yet"),
    "order": ("A node may hand its gradient on only after all nodes that use it have done so.",
        "list a node after all its operands (a topological order), then go through the list "
        "reversed"),
    "identity": (
        "Every node counts as itself: Values fit in a set, and equal numbers are not equal nodes.",
        "define neither __eq__ nor __hash__ (a dataclass does: write @dataclass(eq=False))"),
    "wrap": ("A plain number beside a Value counts as a constant.",
        "begin the method with: other = other if isinstance(other, Value) else Value(other)"),
    "reflected": ("A plain number may stand on the left: Python then asks the Value on the right.",
        "define __radd__ and __rmul__, and for - and / also __rsub__ and __rtruediv__"),
    "swapped": ("In {operation} the Value is the right operand, also where Python calls it self.",
        "let __rsub__ return other + (-self), and __rtruediv__ other * self**-1"),
    "numpy": ("A NumPy number is a number like any other.",
        "take for a number whatever is no Value, and not int and float alone; store float(data)"),
    "again": ("Each call of backward() starts afresh.",
        "in backward(), make a new list, a new set of visited nodes, and write self.grad = 1.0"),
    "twice": (
        "A second backward() adds the same gradients once more: leaves then hold exactly twice as "
        "much.",
        "begin backward() by setting to 0 the grad of all nodes that have operands (the original "
        "micrograd gives too much here as well; with a new graph for each backward(), and the grad "
        "of leaves set to 0 before it, all is right)"),
    "kept": (
        "A second backward() adds the same gradients once more: leaves then hold exactly twice as "
        "much.",
        "let backward() keep the grad of leaves, and set to 0 that of nodes with operands alone"),
    "paths": (
        "The work of backward() grows with the nodes, not with the paths, which double with every "
        "reuse.",
        "list each node once, with a set of those visited, and run its _backward once"),
    "depth": ("A graph may be deeper than the stack of Python's calls.",
        "use an explicit stack instead of a function that calls itself (the original "
        "micrograd cannot do this either; a network as in the lecture is not that deep)"),
    "time": ("Every program must come to an end.",
        "look for a loop whose condition stays true, or a walk that comes back to its start; if it "
        "is slow and right, allow more time: --seconds (seconds= in Python)"),
    "crash": ("A program must not end the whole of Python.",
        "leave out exit, quit and os._exit, and sys.setrecursionlimit, which turns a "
        "RecursionError into a crash"),
    "memory": ("A program of a few numbers needs little memory.",
        "look for a list that grows in a loop, or is far too long"),
}  # fmt: skip
