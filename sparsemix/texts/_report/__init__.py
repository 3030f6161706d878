"""Reports on topics: one HTML page that works offline, for any topic estimator.

``gathering`` reads the documents once. ``relevance``, ``layout`` and ``passages`` select and arrange the content.
``page`` writes the HTML with the styles and scripts in ``assets``, which load nothing from elsewhere.
"""
