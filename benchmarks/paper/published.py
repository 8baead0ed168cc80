"""What the paper reports: NMI in percent as (mean, standard deviation), times in minutes on 20 machines."""

Number = tuple[float, float]

#: (dataset, method) -> by l, in the order of Table 1 (l = 50, 100, 300); one number: for all l.
TABLE1: dict[tuple[str, str], dict[int | None, Number]] = {
    ("pie", "RFF"): {None: (5.2, 0.12)},
    ("pie", "SV-RFF"): {None: (5.15, 0.11)},
    ("pie", "Approx KKM"): {50: (13.99, 0.6), 100: (14.66, 1.01), 300: (15.95, 0.83)},
    ("pie", "APNC-Nys"): {50: (18.52, 0.26), 100: (19.23, 0.36), 300: (20.20, 0.46)},
    ("pie", "APNC-SD"): {50: (18.62, 0.37), 100: (19.5, 0.38), 300: (20.12, 0.35)},
    ("pie", "Exact KKM"): {None: (20.79, 0.45)},
    ("imagenet50k", "RFF"): {None: (6.12, 0.04)},
    ("imagenet50k", "SV-RFF"): {None: (5.96, 0.06)},
    ("imagenet50k", "Approx KKM"): {50: (14.67, 0.25), 100: (15.12, 0.17), 300: (15.27, 0.15)},
    ("imagenet50k", "APNC-Nys"): {50: (15.62, 0.17), 100: (15.81, 0.12), 300: (15.79, 0.09)},
    ("imagenet50k", "APNC-SD"): {50: (15.66, 0.14), 100: (15.78, 0.14), 300: (15.76, 0.08)},
    ("usps", "Approx KKM"): {50: (37.60, 17.50), 100: (50.68, 11.28), 300: (57.17, 5.44)},
    ("usps", "APNC-Nys"): {50: (51.58, 11.74), 100: (55.77, 3.30), 300: (58.26, 0.95)},
    ("usps", "APNC-SD"): {50: (52.88, 7.25), 100: (55.34, 4.15), 300: (58.22, 0.87)},
    ("usps", "Exact KKM"): {None: (59.44, 0.66)},
    ("mnist", "Approx KKM"): {50: (19.07, 1.45), 100: (20.73, 1.30), 300: (22.38, 1.06)},
    ("mnist", "APNC-Nys"): {50: (19.68, 0.71), 100: (20.82, 1.44), 300: (21.93, 0.69)},
    ("mnist", "APNC-SD"): {50: (23.00, 1.57), 100: (23.08, 1.58), 300: (23.86, 1.82)},
}

#: The same for Table 2 (l = 500, 1000, 1500).
TABLE2: dict[tuple[str, str], dict[int | None, Number]] = {
    ("rcv1-200k", "2-Stage"): {500: (13.33, 0.53), 1000: (13.56, 0.53), 1500: (13.56, 0.06)},
    ("rcv1-200k", "APNC-Nys"): {500: (22.15, 0.09), 1000: (23.77, 0.60), 1500: (23.84, 0.80)},
    ("rcv1-200k", "APNC-SD"): {500: (22.21, 0.39), 1000: (24.34, 0.26), 1500: (23.55, 0.17)},
    ("covtype", "2-Stage"): {500: (8.95, 2.98), 1000: (10.23, 1.07), 1500: (9.85, 1.88)},
    ("covtype", "APNC-Nys"): {500: (9.53, 2.55), 1000: (12.31, 0.74), 1500: (12.51, 1.08)},
    ("covtype", "APNC-SD"): {500: (15.96, 1.03), 1000: (15.08, 1.40), 1500: (15.56, 0.18)},
    ("imagenet", "2-Stage"): {500: (7.51, 0.42), 1000: (7.58, 0.21), 1500: (7.71, 0.20)},
    ("imagenet", "APNC-Nys"): {500: (11.33, 0.05), 1000: (11.26, 0.11), 1500: (11.19, 0.03)},
    ("imagenet", "APNC-SD"): {500: (11.27, 0.06), 1000: (11.26, 0.04), 1500: (11.10, 0.05)},
}

#: (dataset, method) -> minutes of embedding by l, of Table 2.
EMBEDDING_MINUTES: dict[tuple[str, str], dict[int, float]] = {
    ("rcv1-200k", "APNC-Nys"): {500: 3.1, 1000: 5.9, 1500: 10.9},
    ("rcv1-200k", "APNC-SD"): {500: 3.0, 1000: 5.9, 1500: 9.9},
    ("covtype", "APNC-Nys"): {500: 3.7, 1000: 7.4, 1500: 11.3},
    ("covtype", "APNC-SD"): {500: 3.8, 1000: 7.2, 1500: 11.6},
    ("imagenet", "APNC-Nys"): {500: 15.6, 1000: 30.3, 1500: 45.2},
    ("imagenet", "APNC-SD"): {500: 14.9, 1000: 30.9, 1500: 44.6},
}

#: (dataset, method) -> minutes of clustering, whatever l.
CLUSTERING_MINUTES: dict[tuple[str, str], float] = {
    ("rcv1-200k", "APNC-Nys"): 19.6,
    ("rcv1-200k", "APNC-SD"): 15.6,
    ("covtype", "APNC-Nys"): 16.4,
    ("covtype", "APNC-SD"): 15.8,
    ("imagenet", "APNC-Nys"): 63.8,
    ("imagenet", "APNC-SD"): 23.7,
}

#: Minutes of spectral clustering on 20 machines that the paper sets against its 25 (Section 9).
PSC_MINUTES = 95.0

#: U-SPEC's publication (Huang et al. 2020) on its own data of these kinds: NMI by the larger entropy, and seconds on
#: four cores.
USPEC: dict[str, Number] = {
    "bananas-1m": (95.9, 10.5),
    "face-2m": (75.6, 27),
    "circles-5m": (99.9, 47),
    "gaussians-10m": (78.8, 319),
    "flower-20m": (86.9, 764),
}
