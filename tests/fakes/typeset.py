"""An article with 16 pairs of proteins, as three programs typeset it.

Lines begin with `# ` and `## ` for headings, with `Figure` for a caption; `{...}` is a footnote.
"""

import re
from html import escape

TITLE = (
    "Contacts of adaptors, kinases and ubiquitin ligases in growth factor signalling"
    " and in the control of the cell cycle"
)
AUTHORS = "Anna Keller, Bruno Ferreira and Chen Liang"
HEAD = "Keller et al. Contacts of adaptors and kinases"
FOOT = "J. Example Biol. 12"
ARTICLE = """\
Signals of growth factors reach the cell cycle through contacts of a few adaptors with many \
partners. We purified the adaptor GRB2 from lysates of growing cells and observed that, over a \
wide range of salt, it interacts through its central domain with the phosphorylated tail of the \
epidermal growth factor receptor. Further contacts were mapped with truncated constructs, and \
their strength was measured in solution at a physiological temperature.
# Introduction
Many receptors act through small proteins that have no enzymatic activity of their own. It has \
long been known that the exchange factor SOS1, which is found in the cytosol of resting cells, \
is bound at its proline-rich tail by the first of the domains of the small adaptor GRB2. The \
consequences of this contact have been described in detail by several groups, and mutants that \
lack it do not grow in soft agar.
Less is known of proteins that compete for the same surface. In extracts of fibroblasts the \
phosphorylated form of SHC1 was found in a complex of about two hundred kilodaltons, whose other \
large component, by its mass and by an antiserum, was EGFR{The antiserum was a gift of a \
neighbouring laboratory and was raised against a peptide of the tail.} in all of five \
preparations. We therefore asked which of the contacts are direct, which need a bridging \
protein, and which of them are regulated by the cycle of the cell.
# Results
## Ligases at the receptor
The ubiquitin ligase CBL was added to immobilised fragments in increasing amounts. Surface \
plasmon resonance showed that the purified protein CBL associates rapidly, and with an affinity \
in the nanomolar range, with a doubly phosphorylated peptide that had the sequence of the tail \
of EGFR. A peptide without phosphate was not recognised, and neither was a scrambled sequence of \
the same composition.
The same approach was applied to nuclear proteins. In a two-hybrid screen of a thymus library \
with the amino-terminal part of the tumor suppressor p53 as a bait, more than half of all \
positive clones, after the removal of those that activated transcription alone, encoded \
overlapping fragments of MDM2. Co-immunoprecipitation from untreated cells confirmed the result \
for the endogenous proteins, although the amount was small.
A related protein behaved differently. When both were expressed from the same plasmid, MDM4 \
formed stable heterodimers that survived gel filtration and dilution to nanomolar \
concentrations, and the partner of these was in every fraction that we analysed the full-length \
MDM2{Shorter forms that lack the carboxy-terminal domain were seen in older preparations.} \
rather than a fragment of it. Homodimers were not detected under these conditions.
Figure 1. Purification of the complexes. Lanes were loaded with equal amounts of protein, and \
were stained with silver after electrophoresis. Molecular masses in kilodaltons are given at the \
left of the panel.
## Proteins of the response to damage
Damage of the genome changes many contacts within minutes. After irradiation, BRCA1 was retained \
on beads that carried the carboxy-terminal half of its well-known partner, the RING finger \
protein that is called BARD1, and it was eluted by competition with a soluble fragment only. The \
stoichiometry was one to one, as far as could be judged from the intensity of the bands.
Recombination needs further factors. Far-western blots with labelled RAD51 revealed that it \
binds, with a preference for the repeats in the middle of the protein over the sequences at both \
of its ends, to a series of overlapping fragments of the large tumour suppressor BRCA2, whereas \
a mutant with a changed loop bound none of these. The repeats are conserved in vertebrates and \
are often altered in tumours.
## Destruction of a coactivator
The signal that stabilises the coactivator starts at the membrane. The scaffold AXIN1 was pulled \
down from cytosolic extracts with a fusion protein, and a western blot with a monoclonal \
antibody showed that among the proteins which had been retained on the glutathione beads was \
CTNNB1 in its unphosphorylated form. Addition of the ligand released about two thirds of it.
Fragments of APC that contain the repeats of twenty residues compete for this surface: in a \
solution of purified components, and at an ionic strength that is close to that of the \
cytoplasm, they form a ternary arrangement in which the second binding site is occupied by \
AXIN1{Concentrations were determined by the absorption at 280 nm and are accurate to ten \
percent.} and not by the kinase. A crystal of the smallest fragment diffracted to two angstroms.
## Kinases and inhibitors of the cell cycle
Progress through the cycle depends on partners that appear and vanish. As expected, CDK2 was \
recovered in an active complex whose regulatory subunit was identified, by peptide mass \
fingerprinting of a band at fifty kilodaltons and by sequencing of two of its peptides, as the \
late G1 protein cyclin E1. The complex phosphorylated histone H1 at a rate that was linear for \
half an hour.
Its inhibitor was studied next. In serum-starved cells, CDKN1B was found to associate with the \
complex in an extended conformation, and cross-linking at short distance placed its inhibitory \
segment, by way of two lysines that are conserved between man and fly, near the active site of \
CDK2 in agreement with the published structure. Serum abolished the cross-link within four \
hours.
The turnover of the inhibitor requires its recognition by a ligase. A phosphopeptide of CDKN1B \
bound tightly to a column on which the recombinant F-box protein, together with the small \
accessory factor that is needed for its activity, had been immobilised through a tag, and the \
eluate contained SKP2 in nearly equal amounts. No binding was seen with a peptide in which the \
threonine had been replaced.
## Kinases at the membrane
The small GTPase KRAS in its active form recruits effectors. A domain of about eighty residues \
at the amino terminus of the protein kinase RAF1, produced in bacteria and purified to \
homogeneity by two steps of chromatography, was sufficient for binding to beads that had been \
loaded with the active KRAS and washed with buffer of low salt. The inactive form of the GTPase \
retained nothing.
Cytokines use a different route. In stimulated cells JAK2 was immunoprecipitated with antibodies \
against its kinase-like domain, and mass spectrometry of the precipitates found, in addition to \
the expected chaperones and to a number of cytoskeletal proteins, several peptides of the latent \
transcription factor STAT3 in amounts that rose with the time of stimulation. The control serum \
gave no such peptides.
Adhesion was the last system that we examined. The focal adhesion kinase PTK2 has a \
carboxy-terminal domain of four helices, and titration calorimetry with synthetic peptides \
showed that each of its two hydrophobic patches docks onto one of the short leucine-rich motifs \
that are found in the amino-terminal half of paxillin{Motifs were numbered from the amino \
terminus, as is usual.} with an affinity of a few micromolar. Peptides with a changed aspartate \
were not bound.
# Discussion
Our measurements agree with most of the published values. In particular, the strength of \
contacts in solution was well correlated with the amounts that were recovered from cells, which \
suggests that few further factors are needed. We cannot exclude that a modification is missing \
from proteins made in bacteria.
A limit of this work is that all cells were grown at high density. Contacts that are \
short-lived, or that need a membrane, are missed by methods that begin with lysis of the cells. \
Labelling in living cells will be needed to find these.
# Methods
Cells were grown in a usual medium with ten percent of serum, and were lysed on ice in a buffer \
with one percent of a mild detergent. Lysates were cleared by centrifugation for twenty minutes \
at 15,000 g. Beads were washed four times, and bound material was eluted by boiling in sample \
buffer. All experiments were done three times with similar results.
"""
_NOTE = re.compile(r"\{([^}]*)\}")


def plain() -> str:
    """Return its text, with each footnote after its paragraph."""
    lines = [TITLE, AUTHORS]
    for line in ARTICLE.splitlines():
        lines += [_NOTE.sub("", line.lstrip("# ")), *_NOTE.findall(line)]
    return "\n".join(lines)


def html(columns: int, *, indented: bool) -> str:
    """Return a page for Chromium, with a footnote below its paragraph."""
    gap = "margin: 0; text-indent: 1.2em" if indented else "margin: 0.6em 0"
    head = f"""<!doctype html><html lang="en"><meta charset="utf-8"><style>
        @page {{ size: 17.8cm 25.4cm; margin: 2cm; @top-left {{ content: "{HEAD}" }}
          @bottom-center {{ content: "Page " counter(page) " of " counter(pages) }} }}
        body {{ font: 10pt/1.3 serif; text-align: justify; hyphens: auto }}
        p {{ {gap} }} aside, figcaption {{ font-size: 0.8em }} h3 {{ font-size: 1em }}
        main {{ columns: {columns}; column-fill: auto }}
        </style><h1>{TITLE}</h1><div>{AUTHORS}</div><main>"""
    tags = ["<h2>*</h2>", "<h3>*</h3>", "<figcaption>Figure 1. *</figcaption>", "<p>*</p>"]
    lines = [
        _marked(_NOTE.sub("<sup>1</sup>", line), *tags)
        + "".join(f"<aside><sup>1</sup> {note}</aside>" for note in _NOTE.findall(line))
        for line in escape(ARTICLE).splitlines()
    ]
    return "".join([head, *lines])


def latex(columns: int, *, indented: bool) -> str:
    """Return a source for pdfLaTeX."""
    head = [
        rf"\documentclass[10pt,{'twocolumn' if columns == 2 else 'onecolumn'}]{{article}}",
        r"\usepackage[paperwidth=17.8cm,paperheight=25.4cm,margin=2cm]{geometry}",
        r"\usepackage[T1]{fontenc}\makeatletter\def\ps@run{",
        rf"\def\@oddhead{{\textit{{{HEAD}}}\hfil\thepage}}\def\@oddfoot{{\hfil {FOOT}\hfil}}}}",
        r"\makeatother\pagestyle{run}",
        "" if indented else r"\setlength{\parindent}{0pt}\setlength{\parskip}{6pt}",
        rf"\title{{{TITLE}}}\author{{{AUTHORS}}}\begin{{document}}\maketitle\thispagestyle{{run}}",
    ]
    figure = r"\begin{figure}[t]\caption{*}\end{figure}"
    lines = [
        _marked(_NOTE.sub(r"\\footnote{\1}", line), r"\section{*}", r"\subsection{*}", figure, "*")
        for line in ARTICLE.splitlines()
    ]
    return "\n".join([*head, "\n\n".join(lines), r"\end{document}"])


def typst(columns: int, *, indented: bool) -> str:
    """Return a source for Typst."""
    gap = ", first-line-indent: 1.2em, spacing: 0.65em" if indented else ""
    head = f"""
        #set page(width: 17.8cm, height: 25.4cm, margin: 2cm, columns: {columns})
        #set page(header: [{HEAD} #h(1fr) #context counter(page).display()], footer: [{FOOT}])
        #set text(10pt, lang: "en", hyphenate: true)
        #set par(justify: true{gap})
        #place(top, scope: "parent", float: true)[#text(17pt)[{TITLE}] \\ {AUTHORS}]"""
    figure = "#figure([], placement: top, caption: [*])"
    lines = [
        _marked(_NOTE.sub(r"#footnote[\1]", line), "= *", "== *", figure, "*")
        for line in ARTICLE.splitlines()
    ]
    return "\n\n".join([head, *lines])


def _marked(line: str, heading: str, below: str, figure: str, other: str) -> str:
    """Return a line in the pattern of its kind; a figure's number is the pattern's."""
    if line.startswith("Figure"):
        return figure.replace("*", line.partition(". ")[2])
    marks, _, text = line.partition(" ") if line.startswith("#") else ("", "", line)
    return {"#": heading, "##": below}.get(marks, other).replace("*", text)
