"""What a person looks at to answer a question: three sections and the two bodies, made ahead.

`sections` and `bodies` make pictures of arrays, `evidence` puts them together for one contact, `store` makes
them in a thread of its own. No widget here.
"""
