module annotator

go 1.19
